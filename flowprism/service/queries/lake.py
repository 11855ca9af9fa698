"""What scans left in the lake of analyses, as far as there is one."""

from __future__ import annotations

from datamodel.errors import InputError, StorageError
from datamodel.frame import Frame, empty
from datamodel.reconstructed.timeline import SPANS, Timelines
from flowprism.service.stores import Stores
from storage.analyses import read_timelines
from storage.lake.kinds import KINDS
from storage.lake.lake_reader import read_kind
from storage.lake.object_names import is_store
from storage.lake.object_store import LocalStore, open_store
from storage.lake.selection import Selection


def kept(stores: Stores, kind: str, selection: Selection) -> tuple[Frame, tuple[str, ...]]:
    """Records of one kind with the book of their codes; none where nothing was kept yet.

    Raises:
        StorageError: the lake cannot be read.
    """
    if not _there(stores):
        return empty(KINDS[kind].schema), ()
    try:
        return read_kind(str(stores.analyses), kind, selection)
    except (InputError, OSError) as error:
        raise StorageError(str(error)) from error


def kept_timelines(stores: Stores, selection: Selection) -> Timelines:
    """Spans in order of job, endpoint and time; none where nothing was kept yet.

    Raises:
        StorageError: the lake cannot be read.
    """
    if not _there(stores):
        return Timelines(empty(SPANS), (), (), ())
    try:
        return read_timelines(str(stores.analyses), selection)
    except (InputError, OSError) as error:
        raise StorageError(str(error)) from error


def _there(stores: Stores) -> bool:
    """Whether a scan has kept something; a bucket is believed to be one of ours."""
    if stores.analyses is None:
        return False
    place = open_store(stores.analyses)
    return not isinstance(place, LocalStore) or is_store(place)
