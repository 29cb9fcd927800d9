"""The node agent: tells what a node really has, on a Unix socket only its user can open.

Standard library and `akotf.facts` only, Python >= 3.9. It is started with `python -m akotf.agent --node FOLDER`.
"""
