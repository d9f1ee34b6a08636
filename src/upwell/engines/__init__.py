"""Run work in this process, in several processes, or on a Ray cluster.

engine      the interface of an engine, handles of workers, and how many sites a machine can run at once
local       the engine of one process, and `create_engine`
processes   several worker processes; `worker` is the program that runs in them
ray         actors of a Ray cluster
schedule    decides which work runs when
"""
