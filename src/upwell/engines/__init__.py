"""Where work runs: in this process, in several, on many machines.

An engine is given a function and runs it for one piece of work at a time, wherever it likes; `schedule.Schedule` decides which work is next.

frame       what an engine is, and `engine_of`, which makes one by its name
local       one event loop in this process
processes   several worker processes, each with an event loop
worker      what runs in such a process
elsewhere   who waits for work that runs in another process, here or on a cluster
ray         actors on the machines of a Ray cluster
ray_worker  what runs in such an actor
ray_connection  connecting to Ray, or starting one
schedule    which work runs when: so many at once, one at a time for each host, failed ones again later
"""
