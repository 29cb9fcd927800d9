"""The pass: load, validate, profile, survey, plan, choose (planning), render, apply, run (provisioning), record (recording).

Every function takes the session (the bound adapters) first and hands `model` values on. What people should see goes
out through `session.emit(name, value)`; nothing is printed here.
"""
