import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.MatchingQueries;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorConfiguration;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.MatchNoDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;

/**
 * Lucene monitor: queries are registered, and an event is a document in memory. = and IN are terms, by which the
 * presearcher selects the queries to run. Ranges are points, which it cannot use. A value is indexed as both.
 */
final class Peer {
    public static void main(String[] arguments) throws Exception {
        BooleanQuery.setMaxClauseCount(Integer.MAX_VALUE);
        List<MonitorQuery> queries = new ArrayList<>();
        for (JsonNode row : Measurement.read(arguments[0], "subscriptions")) {
            queries.add(new MonitorQuery(row.get("id").asText(), query(row.get("positive"))));
        }
        List<JsonNode> events = Measurement.read(arguments[0], "events");
        Measurement.measure("lucene-monitor", events, () -> {
            Monitor monitor =
                    new Monitor(new KeywordAnalyzer(), new TermFilteredPresearcher(), new MonitorConfiguration());
            monitor.register(queries);
            return event -> {
                MatchingQueries<QueryMatch> found = monitor.match(document(event), QueryMatch.SIMPLE_MATCHER);
                Collection<Integer> ids = new ArrayList<>();
                for (QueryMatch match : found.getMatches()) ids.add(Integer.valueOf(match.getQueryId()));
                return ids;
            };
        }, List.of(), "= and IN as terms, ranges as points; the event as a document in memory");
        System.exit(0); // a thread of the monitor would keep the process alive
    }

    private static Document document(JsonNode event) {
        Document document = new Document();
        event.properties().forEach(entry -> {
            document.add(new StringField(entry.getKey(), entry.getValue().asText(), Field.Store.NO));
            document.add(new LongPoint("point." + entry.getKey(), entry.getValue().asLong()));
        });
        return document;
    }

    private static Query query(JsonNode form) {
        if (form.isBoolean()) return form.asBoolean() ? new MatchAllDocsQuery() : new MatchNoDocsQuery();
        List<Query> parts = new ArrayList<>();
        if (form.has("attribute")) {
            String name = form.get("attribute").asText();
            for (JsonNode one : form.get("within")) parts.add(interval(name, one.get(0), one.get(1)));
            return join(parts, BooleanClause.Occur.SHOULD);
        }
        for (JsonNode part : form.elements().next()) parts.add(query(part));
        return join(parts, form.has("or") ? BooleanClause.Occur.SHOULD : BooleanClause.Occur.MUST);
    }

    private static Query interval(String name, JsonNode low, JsonNode high) {
        if (low.equals(high) && !low.isNull()) return new TermQuery(new Term(name, low.asText()));
        long from = low.isNull() ? Long.MIN_VALUE : low.asLong(), to = high.isNull() ? Long.MAX_VALUE : high.asLong();
        return LongPoint.newRangeQuery("point." + name, from, to);
    }

    private static Query join(List<Query> parts, BooleanClause.Occur how) {
        if (parts.size() == 1) return parts.get(0);
        BooleanQuery.Builder all = new BooleanQuery.Builder();
        for (Query part : parts) all.add(part, how);
        return all.build();
    }
}
