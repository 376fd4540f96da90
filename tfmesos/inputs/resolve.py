"""The only way from the user's input to a LaunchConfig, for ``tfrun`` and ``cluster()``.

Flags or keywords take precedence over the job file, then a profile, the environment, and the
defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..errors import SpecError
from ..jobfiles.native import changed, jobs_and_settings, without_commands
from ..jobfiles.translation import Document, JobFileError
from ..record import NOTHING
from .merging import make_config
from .profile import Profile, profile_of

if TYPE_CHECKING:
    from ..config.jobs import Jobs
    from ..config.launch_config import LaunchConfig
    from ..config.settings import Settings
    from .job_file import JobFile

    Asked = Jobs | str | os.PathLike[str]


NO_DOCUMENT: Document = {"jobs": {}}  # that of no job file

# Nobody can continue a run in place of the program that uses it.
_OF_A_PROGRAM: Document = {"survive": 0}


class Inputs:
    """A document, which may be that of a job file, with what the call changes."""

    def __init__(
        self,
        file: JobFile | None,
        profile: Profile,
        get_changes: Callable[[Document], Document],
        is_about_call: Callable[[SpecError], bool],
        usual: Mapping[str, Any] = NOTHING,
    ) -> None:
        """*get_changes* returns what the call changes of the document that it gets.
        *is_about_call* says whether the call is to blame for an error, and neither the file nor
        the profile. *usual* holds unless the file or the call says otherwise.
        """
        self._file = file
        self._profile = profile
        self._is_about_call = is_about_call
        document = file.document if file else NO_DOCUMENT
        try:
            changes = get_changes(document)
            self.document = profile.under(_with({**usual, **document}, changes))
        except SpecError as error:
            raise self.located(error) from None

    def config(self, *, resumes: bool = False) -> LaunchConfig:
        """SpecError if something is wrong, with the line of the job file if that is to blame."""
        try:
            document = self._file.completed(self.document) if self._file else self.document
            jobs, settings = jobs_and_settings(document)
            config = make_config(jobs, resumes=resumes, **cast("Settings", settings))
        except SpecError as error:
            raise self.located(error) from None
        remarks = self._file.remarks if self._file else ()
        return config.replace(warnings=(*config.warnings, *remarks))

    def as_tfjob(self) -> str | None:
        """The document as a TFJob, if the job file is one."""
        if self._file is None:
            return None
        try:
            return self._file.as_tfjob(self.document)
        except SpecError as error:
            raise self.located(_of_setting(error)) from None

    def located(self, error: SpecError) -> SpecError:
        if self._is_about_call(error):
            return error
        found = self._file.located(error) if self._file else error
        return self._profile.located(error) if found is error else found


def config_of_call(jobs: Asked, settings: Settings) -> LaunchConfig:
    """The configuration of a call from Python: *jobs*, or the job file of that name."""
    profile = profile_of(settings, os.environ)
    if not isinstance(jobs, (str, os.PathLike)):
        try:
            given = {**_OF_A_PROGRAM, **profile.under(settings)}
            return make_config(jobs, **cast("Settings", given))
        except SpecError as error:
            raise (error if error.field in settings else profile.located(error)) from None
    from .job_file import JobFile, said_beside  # most calls have none

    file = JobFile(os.fspath(jobs), said_beside(settings, profile))
    inputs = Inputs(
        file,
        profile,
        lambda document: dict(settings),
        lambda error: error.field in settings,
        usual=_OF_A_PROGRAM,
    )
    return inputs.config()


def _with(document: Document, changes: Document) -> Document:
    """A command of the call takes the place of all others, its function that of the usual one."""
    if changes.get("cmd") is not None:
        document = without_commands(document)
    elif changes.get("entry"):
        document = {field: value for field, value in document.items() if field != "cmd"}
    return changed(document, changes)


def _of_setting(error: SpecError) -> SpecError:
    """Turn an error about a key of our document into one about a setting or a field."""
    match error.key if isinstance(error, JobFileError) else ():
        case (str(field),):
            return SpecError(None, field, error.problem)
        case ("jobs", str(job), str(field)):
            return SpecError(job, field, error.problem)
    return error
