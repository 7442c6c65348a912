"""Work."""


def work_of(classes):  # type: ignore[no-untyped-def]
    return {}
