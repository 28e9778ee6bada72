"""Relaxed matching: not all of an expression need be true; what is, counts with its weight (Ranked pub/sub, section 1).

An expression has a *part* for each of its attributes: what is left of it when everything else is left out.

    expression      age > 20 AND age < 35 AND (city = 'Rome' OR income > 50)
    its parts       age > 20 AND age < 35   |   city = 'Rome'   |   income > 50

The score of a subscription is the sum of the weights of its parts that are true. NOT, XOR and XNOR are written with AND
and OR and negated predicates first, as everywhere in this package.
"""
