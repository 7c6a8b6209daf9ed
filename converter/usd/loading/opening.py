"""Opening of a stage, after a check of its files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct
from pxr import Sdf, Tf, Usd

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import LONG_TEXT, escaped, truncate
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading.layer_files import open_layers
from urdf_usd.converter.usd.loading.variants import select_variants, unselected_variant_sets

# Messages of OpenUSD that are repeated for one error.
_MOST_REASONS = 3


class OpenedStage(Struct, frozen=True, eq=False):
    """A stage with all payloads.

    Attributes:
        stage: The stage; its session layer selects variants.
        variants: The variants that were selected, with their prims.
        diagnostics: Files outside the folder of the asset, and variant sets without
            selection.
    """

    stage: Usd.Stage
    variants: tuple[VariantChoice, ...]
    diagnostics: tuple[Diagnostic, ...]


def open_stage(
    path: str | os.PathLike[str],
    variants: Iterable[VariantChoice] = (),
    *,
    optional: bool = False,
    strict: bool = False,
    checked: bool = False,
) -> OpenedStage:
    """Open a USD file with all payloads, after a check of its files.

    Args:
        path: Root layer.
        variants: Variants to select.
        optional: Whether the stage may lack variant sets that ``variants`` names.
        strict: Whether to refuse a USD that refers to files outside its folder.
        checked: Whether its files were checked before, or written by this converter;
            they are not checked, and those outside its folder not reported, then.

    Raises:
        StageError: It cannot be opened, a file behind it is refused, or it lacks a
            variant.
    """
    if escaped(path) != os.fspath(path):
        message = f"{escaped(path)} cannot be opened: its path is not UTF-8; rename it"
        raise StageError((Diagnostic("stage-unreadable", message),))
    # Keeps the layers open, so that composition does not read them again.
    files = None if checked else open_layers(path, strict=strict)
    try:
        stage = Usd.Stage.Open(str(path))
        selected, notes = select_variants(stage, variants, optional=optional)
    except Tf.ErrorException as error:
        message = f"{path} cannot be opened: {openusd_reason(error)}"
        raise StageError((Diagnostic("stage-unreadable", message),)) from error
    unselected = unselected_variant_sets(stage)
    outside = files.outside if files else ()
    return OpenedStage(stage, selected, (*outside, *notes, *unselected))


def openusd_reason(error: Tf.ErrorException) -> str:
    """Return the first messages of OpenUSD, without its source files."""
    try:
        found = dict.fromkeys(" ".join(one.commentary.split()) for one in error.args)
    except UnicodeDecodeError:
        return "it is no USD, and no text in UTF-8"
    return "; ".join(truncate(one, LONG_TEXT) for one in [*found][:_MOST_REASONS])


def named_prim(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return the prim that ``--root`` names.

    Raises:
        StageError: There is none.
    """
    valid = Sdf.Path.IsValidPathString(path) and Sdf.Path(path).IsAbsolutePath()
    prim = stage.GetPrimAtPath(path) if valid else None
    if not prim or prim.IsPseudoRoot():
        message = f"the stage has no prim {path}, which --root names"
        raise StageError((Diagnostic("stage-structure", message),))
    return prim
