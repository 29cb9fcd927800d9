"""Shipped for tests of akotf and of its plug-ins: the backends' contract suite and in-memory doubles of the ports.

`akotf.testing.contract` imports pytest and `akotf.testing.doubles` does not, so nothing is imported here.
"""
