"""What can be wrong with what we are given.

FlowprismError
 ├── SchemaError            a table lacks a declared column or holds an undeclared one
 ├── InputError             an input cannot be used at all; the message names the file and the cause
 ├── InventoryError         the inventory contradicts itself or its schema
 ├── StorageError           what is kept cannot be read or written now; the same may be tried again
 ├── PermissionDeniedError  the caller may not do this
 ├── LimitExceededError     more was asked for than one answer can hold
 └── MissingExtraError      a library that only notebooks need is not installed
"""


class FlowprismError(Exception):
    """The root: everything a user can cause and fix."""


class SchemaError(FlowprismError):
    """A table lacks a declared column or holds an undeclared one."""


class InputError(FlowprismError):
    """An input cannot be used at all; the message names the file and the cause."""


class InventoryError(FlowprismError):
    """The inventory contradicts itself or its schema."""


class StorageError(FlowprismError):
    """What is kept cannot be read or written now; the same may be tried again."""


class PermissionDeniedError(FlowprismError):
    """The caller may not do this."""


class LimitExceededError(FlowprismError):
    """More was asked for than one answer can hold."""


class MissingExtraError(FlowprismError, ImportError):
    """A library that only notebooks need is not installed."""
