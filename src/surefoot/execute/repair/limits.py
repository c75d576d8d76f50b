"""How far one turn of the repair search goes. Candidates and answers are settings (`[repair]`)."""

from dataclasses import dataclass, field, replace

from surefoot.execute.repair.select import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairLimits:
    """Bounds of one turn; what ends a turn early is evidence, not time."""

    candidates: int = 2_500
    """Candidates tried in the worker, those of the model included."""
    first_order: int = 400
    """Single edits tried of the first suspect; half as many of each further one."""
    beam: int = 5
    """Edits that came nearer and are tried together with a second and a third one."""
    leads: int = 3
    """Edits that mended a part of what fails and are tried together with a second and a third one before anything is asked."""
    paired: int = 40
    """Likeliest edits that are tried two at a time where none that passes alone is all that is asked for."""
    pairs: int = 400
    """Pairs of them that are tried."""
    deeper: int = 160
    """Further edits tried on each of them."""
    crossed: int = 10
    """Edits that came nearer and are tried together with one of another suspect."""
    across: int = 60
    """Edits of each other suspect that are tried on each of them."""
    suspects: int = 3
    """Units looked at in one turn."""
    samples: int = 28
    """Answers asked of the model."""
    guessed_samples: int = 12
    """The same where the model wrote the test and nothing passes: one that so many answers do not pass asks for something else than the issue."""
    least_samples: int = 4
    """Answers asked before anything is taken: what passes may still be wrong."""
    unanimous: int = 2
    """The same where an edit passes and every answer so far does what it does."""
    filled_lines: int = 16
    """Lines of a suspect in whose place a model that fills gaps is asked what it would write."""
    likely: float = 2.0
    """Nats by which some edit that passes has to be likelier than the unchanged code, else such a model is asked for lines, too."""
    reread: int = 160
    """Edits of what a change leaves, tried before it is taken to tell which lines the known tests hold."""
    weighed: int = 6
    """Leading behaviours whose likelihood such a model is asked for."""
    foretold: int = 6
    """Calls of which the model is asked what they give, where candidates that pass differ on them."""
    before_deeper: int = 8
    """Answers asked before edits are put on top of edits, which costs more than it often brings."""
    passing: int = 40
    """Candidates that pass the known tests after which no more syntax-tree edits are looked for."""
    inputs: int = 192
    """Generated inputs on which candidates that pass are compared, or four times the stories."""
    wider_s: float = 5.0
    """Usual duration of the passing tests that a candidate meets in the worker; all are run in the end."""
    parts: int = 12
    """Separate changes up to which an answer that passes is tried without each of them."""
    large_samples: int = 8
    """Answers asked of a model with a large context, which is the stronger and the dearer one."""
    large_unaided: int = 2
    """`Weights.unaided` of such a model, which is asked few questions."""
    issue_characters: int = 1_200
    """Length up to which the issue is told whole; a longer one is left to the failing check."""
    told_calls: int = 3
    """Failing calls told in one prompt."""
    told_values: int = 12
    """Values of variables told in one prompt."""
    file_share: float = 0.25
    """Part of a large context that a suspect's file may take to be shown whole."""
    weights: Weights = field(default_factory=Weights)

    def widened(self, by: int) -> "RepairLimits":
        """So many times as much of everything that is looked at, asked and shown; files at most half of a context."""
        return replace(
            self,
            candidates=by * self.candidates,
            first_order=by * self.first_order,
            beam=by * self.beam,
            leads=by * self.leads,
            paired=by * self.paired,
            pairs=by * self.pairs,
            deeper=by * self.deeper,
            crossed=by * self.crossed,
            across=by * self.across,
            suspects=by * self.suspects,
            samples=by * self.samples,
            guessed_samples=by * self.guessed_samples,
            least_samples=by * self.least_samples,
            unanimous=by * self.unanimous,
            filled_lines=by * self.filled_lines,
            reread=by * self.reread,
            inputs=by * self.inputs,
            large_samples=by * self.large_samples,
            issue_characters=by * self.issue_characters,
            told_calls=by * self.told_calls,
            told_values=by * self.told_values,
            file_share=min(0.5, by * self.file_share),
        )
