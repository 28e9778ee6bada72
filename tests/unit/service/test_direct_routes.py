"""The shortcut for POST requests."""


def test_what_is_not_posted_to_a_path_is_refused_as_ever(client):
    for path in ("/v1/publish", "/v1/publish/many", "/v1/match", "/v1/top-k", "/v1/explain", "/v1/scores"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
