"""References to robots and corpora, and the sources that they are resolved from."""

from urdf_usd.corpus.resolution import candidate as candidate
from urdf_usd.corpus.resolution import list_corpora as list_corpora
from urdf_usd.corpus.resolution import resolve_corpora as resolve_corpora
from urdf_usd.corpus.resolution import resolve_robot as resolve_robot
from urdf_usd.corpus.resolution import robot_names as robot_names
from urdf_usd.corpus.robots import WHOLE_CORPORA as WHOLE_CORPORA
from urdf_usd.corpus.robots import Candidate as Candidate
from urdf_usd.corpus.robots import CorpusError as CorpusError
from urdf_usd.corpus.robots import Download as Download
from urdf_usd.corpus.robots import ReferenceSyntaxError as ReferenceSyntaxError
from urdf_usd.corpus.robots import Resolved as Resolved
from urdf_usd.corpus.robots import RobotSource as RobotSource
from urdf_usd.corpus.robots import Selection as Selection
from urdf_usd.corpus.robots import UnavailableError as UnavailableError
from urdf_usd.corpus.robots import UnavailableSource as UnavailableSource
from urdf_usd.corpus.robots import UnknownRobotError as UnknownRobotError
from urdf_usd.corpus.robots import parse_reference as parse_reference
