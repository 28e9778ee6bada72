"""Routes that explain, validate and try expressions."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import Response

from tellwhen.service import answers, models
from tellwhen.service.bodies import describe_operation, parse_body
from tellwhen.service.requests import RequestRunner, get_tenant, make_json_response


def add_expression_routes(app: FastAPI, runner: RequestRunner) -> None:
    """Add the routes of this module."""
    limits = runner.limits

    @app.post("/v1/explain", **describe_operation("expressions", models.ExplainRequest, models.ExplainResponse))
    async def explain(request: Request) -> Response:
        """Explain why an event satisfies a subscription or an expression, or why it does not."""
        body, index = parse_body(await request.body(), models.ExplainRequest), get_tenant(request).index
        explanation = await runner.run_in_thread(lambda deadline: answers.explain(index, body, limits, deadline))
        return make_json_response(explanation)

    @app.post("/v1/validate", **describe_operation("expressions", models.ExpressionRequest, models.ValidateResponse))
    async def validate(request: Request) -> Response:
        """Check an expression: return its error, or hints at probable mistakes."""
        body, tenant = parse_body(await request.body(), models.ExpressionRequest), get_tenant(request)
        validation = await runner.run_in_thread(lambda _: answers.validate_expression(tenant, body.expression, limits))
        return make_json_response(validation)

    @app.post("/v1/dry-run", **describe_operation("expressions", models.ExpressionRequest, models.DryRunResponse))
    async def dry_run(request: Request) -> Response:
        """Count how many of the events that were published last an expression would have matched."""
        body, tenant = parse_body(await request.body(), models.ExpressionRequest), get_tenant(request)
        result = await runner.run_in_thread(lambda _: answers.dry_run(tenant, body.expression, limits))
        return make_json_response(result)
