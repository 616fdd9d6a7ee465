"""The catalogue: what torch says (symptoms), why (rules), and the words for both, all read from YAML."""

from explainer.catalogue.load import Catalogue, load
from explainer.catalogue.match import Match
from explainer.catalogue.problem import Problem
from explainer.catalogue.rule import Rule
from explainer.catalogue.symptom import Symptom

__all__ = ["Catalogue", "Match", "Problem", "Rule", "Symptom", "load"]
