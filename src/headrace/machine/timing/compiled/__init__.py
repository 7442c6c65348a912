"""The units of an engine in machine code: what `Engine` does with streams, signals and control.

`worth` says for which programs it pays; `tables` lays classes of cores out in one array (`fields`), `advance`
(numba, loaded only when used) runs them, `snapshot` finds rounds that repeat, `units` joins them to the
engine, whose transfers stay as they are. Every time is the one the engine takes step by step.
"""
