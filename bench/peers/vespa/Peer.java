import com.fasterxml.jackson.databind.JsonNode;
import com.yahoo.document.predicate.Predicate;
import com.yahoo.search.predicate.PredicateIndex;
import com.yahoo.search.predicate.PredicateIndexBuilder;
import com.yahoo.search.predicate.PredicateQuery;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Vespa predicate search: = and IN are sets of strings, all else ranges; an event has each value as both. Its NOT is
 * true on a missing attribute, so that none is used.
 */
final class Peer {
    private static final int ARITY = 8;

    public static void main(String[] arguments) throws Exception {
        Map<Integer, String> texts = new LinkedHashMap<>();
        for (JsonNode row : Measured.read(arguments[0], "subscriptions")) {
            texts.put(row.get("id").asInt(), text(row.get("positive")));
        }
        List<Object[]> refused = new ArrayList<>();
        Measured.print("vespa-predicate-search", Measured.read(arguments[0], "events"), () -> {
            PredicateIndexBuilder builder = new PredicateIndexBuilder(ARITY);
            texts.forEach((id, text) -> {
                try {
                    builder.indexDocument(id, Predicate.fromString(text));
                } catch (RuntimeException error) {
                    refused.add(new Object[] {id, error.getMessage()});
                }
            });
            PredicateIndex.Searcher searcher = builder.build().searcher();
            return event -> searcher.search(query(event)).map(hit -> hit.getDocId()).collect(Collectors.toList());
        }, refused, "= and IN as strings, ranges as ranges");
    }

    private static PredicateQuery query(JsonNode event) {
        PredicateQuery query = new PredicateQuery();
        event.properties().forEach(entry -> {
            query.addFeature(entry.getKey(), entry.getValue().asText());
            query.addRangeFeature(entry.getKey(), entry.getValue().asLong());
        });
        return query;
    }

    private static String text(JsonNode form) {
        if (form.isBoolean()) return form.asText();
        List<String> parts = new ArrayList<>();
        if (form.has("attribute")) {
            String name = form.get("attribute").asText();
            List<String> members = new ArrayList<>();
            for (JsonNode one : form.get("within")) {
                JsonNode low = one.get(0), high = one.get(1);
                if (low.equals(high) && !low.isNull()) members.add("'" + low.asText() + "'");
                else parts.add(name + " in [" + end(low) + ".." + end(high) + "]");
            }
            if (!members.isEmpty()) parts.add(name + " in [" + String.join(", ", members) + "]");
            return parts.isEmpty() ? "false" : "(" + String.join(" or ", parts) + ")";
        }
        for (JsonNode part : form.elements().next()) parts.add(text(part));
        return "(" + String.join(form.has("or") ? " or " : " and ", parts) + ")";
    }

    private static String end(JsonNode value) {
        return value.isNull() ? "" : value.asText();
    }
}
