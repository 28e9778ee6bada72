"""Is an index exported from a server, converted, built and compared?"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app

pytestmark = pytest.mark.late

PAGES = (
    [{"_id": "a", "_source": {"query": {"term": {"city": "Rome"}}, "owner": "ann"}}],
    [{"_id": "b", "_source": {"query": {"fuzzy": {"city": "Rom"}}}}],
    [],
)


class Elasticsearch(BaseHTTPRequestHandler):
    """A server that has two pages of queries, and then an empty one."""

    def do_GET(self):
        self._answer({"alerts": {"mappings": {"properties": self.server.properties}}})

    def do_POST(self):
        assert self.headers["Authorization"] == "ApiKey secret"
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        page = int(asked.get("scroll_id", -1)) + 1
        assert self.path == ("/_search/scroll" if page else "/alerts/_search?scroll=5m")
        self._answer({"_scroll_id": str(page), "hits": {"hits": PAGES[page]}})

    def _answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def elasticsearch_url(percolator, monkeypatch):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "secret")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elasticsearch)
    server.properties = percolator.PROPERTIES
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_export_is_converted_and_built(percolator, elasticsearch_url, tmp_path, capsys):
    percolator.main(["export", elasticsearch_url, "alerts", str(tmp_path)])
    percolator.main(["convert", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "1 converted, 1 in quarantine" in printed
    command = next(line for line in printed.splitlines() if "tellwhen build" in line).split()[1:]
    assert CliRunner().invoke(app, command).exit_code == 0
    index = tw.Index.load(tmp_path / "index")
    assert index.match_with_payloads({"city": "Rome"}) == [("a", {"owner": "ann"})]

    documents = [{"city": ["Rome"], "title": "flat"}, {"city": "Oslo"}, {"rooms": "many"}]
    (tmp_path / "documents.ndjson").write_text("".join(json.dumps(one) + "\n" for one in documents))
    percolator.main(["answers", elasticsearch_url, "alerts", str(tmp_path), str(tmp_path / "documents.ndjson")])
    with pytest.raises(SystemExit):
        percolator.main(["compare", str(tmp_path), str(tmp_path / "answers.ndjson")])
    printed = capsys.readouterr().out
    assert 'a should match {"city": "Oslo"}' in printed
    assert "line 3: the document is no event: rooms: 'many' is not a number" in printed
    assert "2 documents, 1 queries: 1 answers are different" in printed
