"""Relaxed matching: an expression need not be true as a whole; its true parts count with their weights.

    event ──> true predicates ──> true parts ──> sums of weights by slot ──> the k best

An expression has a *part* for each of its attributes: the expression without all predicates on other attributes.

    expression      age > 20 AND age < 35 AND (city = 'Rome' OR income > 50)
    its parts       age > 20 AND age < 35   |   city = 'Rome'   |   income > 50

The score of a subscription is the sum of the weights of its true parts (Ranked pub/sub, section 1). The compiler has
rewritten NOT, XOR and XNOR with AND, OR and negated predicates before an expression is divided into parts.
"""
