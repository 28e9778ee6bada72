"""The syntax tree of expressions: seven small immutable classes, built from text, JSON or Python.

    Predicate(attribute, operator, operand)     And / Or / Xor / Xnor(args)     Not(arg)     Truth(value)

`And`, `Or`, `Xor` and `Xnor` are associative in the three-valued logic of the language, so a node is merged into a
parent of the same class. Therefore `parse(str(e)) == e`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tellwhen.errors import LimitError, describe_value
from tellwhen.language import limits
from tellwhen.language.values import Constant, Family, get_family

if TYPE_CHECKING:
    from tellwhen.language.explanation import Explanation

Operator = Literal[
    "=", "<>", "<", "<=", ">", ">=",
    "IN", "NOT IN", "BETWEEN", "NOT BETWEEN",
    "LIKE", "NOT LIKE", "STARTS WITH", "ENDS WITH", "CONTAINS", "MATCHES",
    "IS NULL", "IS NOT NULL", "HAS ANY", "HAS ALL", "HAS NONE",
]  # fmt: skip

# operators by the operand that they take
COMPARISON_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
LIST_OPERATORS = ("IN", "NOT IN")
RANGE_OPERATORS = ("BETWEEN", "NOT BETWEEN")
LIKE_OPERATORS = ("LIKE", "NOT LIKE")
TEXT_OPERATORS = ("STARTS WITH", "ENDS WITH", "CONTAINS", "MATCHES")
NULL_OPERATORS = ("IS NULL", "IS NOT NULL")
HAS_OPERATORS = ("HAS ANY", "HAS ALL", "HAS NONE")
OPERATORS = (
    *COMPARISON_OPERATORS, *LIST_OPERATORS, *RANGE_OPERATORS, *LIKE_OPERATORS, *TEXT_OPERATORS, *NULL_OPERATORS,
    *HAS_OPERATORS,
)  # fmt: skip


class Expr:
    """A Boolean expression over the attributes of an event. Combine expressions with `&`, `|`, `^` and `~`.

    Examples
    --------
    >>> import tellwhen as tw
    >>> e = tw.parse("price < 20 AND NOT sold")
    >>> e.evaluate({"price": 12, "sold": False}), e.evaluate({"price": 30}), e.evaluate({"price": 12})
    (True, False, None)
    >>> print(e | (tw.col("vip") == True))
    price < 20 AND NOT sold = TRUE OR vip = TRUE
    """

    __slots__ = ()
    depth: int
    size: int

    def evaluate(self, event: Mapping[str, Any]) -> bool | None:
        """Return the value of the expression on an event: True, False, or None for undefined (see LANGUAGE.md)."""
        from tellwhen.language.evaluation import evaluate_expression

        return evaluate_expression(self, event)

    def explain(self, event: Mapping[str, Any]) -> Explanation:
        """Return the value of every node of the expression on an event, as a tree to print."""
        from tellwhen.language.explanation import explain_expression

        return explain_expression(self, event)

    def to_event(self) -> dict[str, Any]:
        """Return the event that a conjunction of predicates describes.

        A subscription matches such an event if each of its predicates has a value in common with the event. The value
        of an attribute is an interval, or a list of intervals and values.

        Raises
        ------
        EventError
            If the expression is more than a conjunction of predicates, or no value satisfies all of them.

        Examples
        --------
        >>> import tellwhen as tw
        >>> event = tw.parse("price < 500 AND city <> 'Rome' AND item IN ('bike', 'ebike')").to_event()
        >>> event["price"], event["item"]
        (Interval(None, 500, '[)'), ['bike', 'ebike'])
        >>> index = tw.Index().add("a", "price BETWEEN 400 AND 600").add("b", "city = 'Rome'").add("c", "city > 'Rome'")
        >>> index.match(event)
        ['a', 'c']
        """
        from tellwhen.language.event_expressions import build_event

        return build_event(self)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the expression: dicts, lists and scalars."""
        from tellwhen.language.json import to_json

        return to_json(self)

    def predicates(self) -> Iterator[Predicate]:
        """Yield all predicates from left to right, with repetitions."""
        raise NotImplementedError

    def __str__(self) -> str:
        from tellwhen.language.formatting import format_expression

        return format_expression(self)

    def __repr__(self) -> str:
        return f"tellwhen.parse({str(self)!r})"

    def __and__(self, other: object) -> Expr:
        return And.create(self, as_expr(other))

    def __or__(self, other: object) -> Expr:
        return Or.create(self, as_expr(other))

    def __xor__(self, other: object) -> Expr:
        return Xor.create(self, as_expr(other))

    def __invert__(self) -> Expr:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value without an event; combine expressions with & | ^ ~, not and/or/not; "
            "use col('a').isin([...]) instead of in, and col('a').between(low, high) instead of low <= col('a') <= high"
        )


def as_expr(value: object) -> Expr:
    """Return an expression as it is, and a column as a predicate that the column is TRUE.

    Raise TypeError for other values.
    """
    if isinstance(value, Expr):
        return value
    as_predicate = getattr(value, "as_predicate", None)  # a Column, which this module cannot import
    if as_predicate is not None:
        predicate: Expr = as_predicate()
        return predicate
    raise TypeError(f"expected an expression, found {describe_value(value)}; compare a column first: col('a') == 1")


class Predicate(Expr):
    """A test of one attribute with one operator and one operand.

    The operand is a constant for comparisons and text operators, a tuple for IN, BETWEEN and HAS, `(pattern, escape)`
    for LIKE, and None for IS NULL. The attribute may be computed (`terms.py`). The constructor validates nothing;
    `predicates.build_predicate` does.
    """

    __slots__ = ("attribute", "operand", "operator")
    depth = 0
    size = 1

    def __init__(self, attribute: str, operator: Operator, operand: Any) -> None:
        self.attribute = attribute
        self.operator = operator
        self.operand = operand

    @property
    def constants(self) -> tuple[Constant, ...]:
        """Constants of the operand; none for IS NULL."""
        if self.operator in LIKE_OPERATORS:
            return (self.operand[0],)
        if self.operand is None:
            return ()
        return self.operand if isinstance(self.operand, tuple) else (self.operand,)

    @property
    def family(self) -> Family | None:
        """Family of the constants; None for IS NULL, which tests values of every family."""
        constants = self.constants
        return get_family(constants[0]) if constants else None

    def predicates(self) -> Iterator[Predicate]:
        """Yield this predicate, its only one."""
        yield self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Predicate):
            return NotImplemented
        return (
            self.attribute == other.attribute
            and self.operator == other.operator
            and self.operand == other.operand
            # 1 == 1.0 == True in Python, but not here.
            and [type(c) for c in self.constants] == [type(c) for c in other.constants]
        )

    def __hash__(self) -> int:
        return hash((self.attribute, self.operator, self.operand))


class Has(Predicate):
    """A predicate with `HAS ANY`, `HAS ALL` or `HAS NONE`. Unlike other predicates it is never undefined."""

    __slots__ = ()


class Truth(Expr):
    """A constant expression: TRUE, FALSE, or NULL, which is undefined."""

    __slots__ = ("value",)
    depth = 0
    size = 1

    def __init__(self, value: bool | None) -> None:
        self.value = value

    def predicates(self) -> Iterator[Predicate]:
        return iter(())

    def __eq__(self, other: object) -> bool:
        return self.value == other.value if isinstance(other, Truth) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)


class Not(Expr):
    """The negation of one expression."""

    __slots__ = ("arg", "depth", "size")

    def __init__(self, arg: Expr) -> None:
        self.arg = arg
        self.depth = _validate_depth(1 + arg.depth)
        self.size = arg.size

    def predicates(self) -> Iterator[Predicate]:
        return self.arg.predicates()

    def __eq__(self, other: object) -> bool:
        return self.arg == other.arg if isinstance(other, Not) else NotImplemented

    def __hash__(self) -> int:
        return hash(("NOT", self.arg))


class Connective(Expr):
    """Base of And, Or, Xor and Xnor. Make nodes with `create`, which merges nested nodes of the same class."""

    __slots__ = ("args", "depth", "size")
    keyword: ClassVar[str]

    def __init__(self, args: tuple[Expr, ...]) -> None:
        self._initialize(args, 1 + max([arg.depth for arg in args]), sum([arg.size for arg in args]))

    def _initialize(self, args: tuple[Expr, ...], depth: int, size: int) -> None:
        self.args = args
        self.depth = _validate_depth(depth)
        self.size = size
        if self.size > limits.PREDICATES_MAX:
            raise LimitError(
                f"an expression may have at most {limits.PREDICATES_MAX} predicates, this one has {self.size}"
            )

    @classmethod
    def create(cls, *args: Expr) -> Expr:
        """Connect operands, and merge those of the same class into the new node."""
        if not any([type(arg) is cls for arg in args]):
            return cls(args)
        # Depth and size come from the parts: otherwise building `a | b | c | ...` would take quadratic time.
        parts: list[Expr] = []
        for arg in args:
            parts += arg.args if isinstance(arg, cls) else (arg,)
        depth = max([arg.depth if type(arg) is cls else 1 + arg.depth for arg in args])
        merged = cls.__new__(cls)
        merged._initialize(tuple(parts), depth, sum([arg.size for arg in args]))
        return merged

    def predicates(self) -> Iterator[Predicate]:
        for arg in self.args:
            yield from arg.predicates()

    def __eq__(self, other: object) -> bool:
        return self.args == other.args if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.keyword, self.args))


class And(Connective):
    """Conjunction: true if all operands are true."""

    __slots__ = ()
    keyword = "AND"


class Or(Connective):
    """Disjunction: true if at least one operand is true."""

    __slots__ = ()
    keyword = "OR"


class Xor(Connective):
    """Exclusive or: true if an odd number of operands is true; undefined if any operand is undefined."""

    __slots__ = ()
    keyword = "XOR"


class Xnor(Connective):
    """Equivalence: `a XNOR b` is `NOT (a XOR b)`. A chain associates to the left."""

    __slots__ = ()
    keyword = "XNOR"


def _validate_depth(depth: int) -> int:
    if depth > limits.DEPTH_MAX:
        raise LimitError(f"an expression may be nested at most {limits.DEPTH_MAX} deep")
    return depth
