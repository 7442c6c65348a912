OPS: tuple[type, ...] = ()
