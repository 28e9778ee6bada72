import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import software.amazon.event.ruler.Machine;

/**
 * event-ruler: a rule is a conjunction, with alternatives for each field. An expression becomes its disjunctive normal
 * form: a rule for each conjunction, all with the same name. A missing field makes a rule false, as in tellwhen.
 */
final class Peer {
    private static final int CONJUNCTIONS_MAX = 64;
    private static final long OPEN_BELOW = Long.MIN_VALUE, OPEN_ABOVE = Long.MAX_VALUE;

    public static void main(String[] arguments) throws Exception {
        Map<Integer, List<String>> rules = new LinkedHashMap<>();
        List<Object[]> refused = new ArrayList<>();
        for (JsonNode row : Measurement.read(arguments[0], "subscriptions")) {
            int id = row.get("id").asInt();
            List<Map<String, List<long[]>>> conjunctions = toDisjunctiveForm(row.get("positive"));
            if (conjunctions == null) refused.add(new Object[] {id, "more than " + CONJUNCTIONS_MAX + " conjunctions"});
            else if (conjunctions.contains(Map.of())) refused.add(new Object[] {id, "a rule has at least one field"});
            else {
                List<String> texts = new ArrayList<>();
                for (Map<String, List<long[]>> conjunction : conjunctions) texts.add(rule(conjunction));
                rules.put(id, texts);
            }
        }
        Measurement.measure("event-ruler", Measurement.readLines(arguments[0], "events"), () -> {
            Machine machine = new Machine();
            for (Map.Entry<Integer, List<String>> entry : rules.entrySet()) {
                for (String text : entry.getValue()) machine.addRule(entry.getKey().toString(), text);
            }
            return event -> {
                Collection<Integer> found = new ArrayList<>();
                for (String name : machine.rulesForJSONEvent(event)) found.add(Integer.valueOf(name));
                return found;
            };
        }, refused, "events as JSON text; OR as several rules with one name");
    }

    /** The conjunctions, with the allowed intervals of each attribute; null if there are too many. */
    private static List<Map<String, List<long[]>>> toDisjunctiveForm(JsonNode form) {
        if (form.isBoolean()) return form.asBoolean() ? List.of(Map.of()) : List.of();
        if (form.has("attribute")) {
            List<long[]> allowed = intervals(form.get("within"));
            return allowed.isEmpty() ? List.of() : List.of(Map.of(form.get("attribute").asText(), allowed));
        }
        List<Map<String, List<long[]>>> found = form.has("or") ? new ArrayList<>() : List.of(Map.of());
        for (JsonNode part : form.elements().next()) {
            List<Map<String, List<long[]>>> inner = toDisjunctiveForm(part);
            if (inner == null) return null;
            if (form.has("or")) found.addAll(inner);
            else found = cross(found, inner);
            if (found.size() > CONJUNCTIONS_MAX) return null;
        }
        return found;
    }

    private static List<Map<String, List<long[]>>> cross(
            List<Map<String, List<long[]>>> left, List<Map<String, List<long[]>>> right) {
        List<Map<String, List<long[]>>> found = new ArrayList<>();
        for (Map<String, List<long[]>> one : left) {
            for (Map<String, List<long[]>> other : right) {
                Map<String, List<long[]>> both = new LinkedHashMap<>(one);
                other.forEach((name, allowed) -> both.merge(name, allowed, Peer::intersect));
                if (both.values().stream().noneMatch(List::isEmpty)) found.add(both);
            }
        }
        return found;
    }

    private static List<long[]> intersect(List<long[]> left, List<long[]> right) {
        List<long[]> found = new ArrayList<>();
        for (long[] one : left) {
            for (long[] other : right) {
                long low = Math.max(one[0], other[0]), high = Math.min(one[1], other[1]);
                if (low <= high) found.add(new long[] {low, high});
            }
        }
        return found;
    }

    private static List<long[]> intervals(JsonNode within) {
        List<long[]> found = new ArrayList<>();
        for (JsonNode one : within) {
            JsonNode low = one.get(0), high = one.get(1);
            long from = low.isNull() ? OPEN_BELOW : low.asLong(), to = high.isNull() ? OPEN_ABOVE : high.asLong();
            found.add(new long[] {from, to});
        }
        return found;
    }

    private static String rule(Map<String, List<long[]>> conjunction) throws Exception {
        Map<String, List<Object>> fields = new LinkedHashMap<>();
        conjunction.forEach((name, allowed) -> {
            List<Object> patterns = new ArrayList<>();
            for (long[] one : allowed) patterns.add(pattern(one[0], one[1]));
            fields.put(name, patterns);
        });
        return Measurement.JSON.writeValueAsString(fields);
    }

    private static Map<String, Object> pattern(long low, long high) {
        if (low == OPEN_BELOW && high == OPEN_ABOVE) return Map.of("exists", true);
        List<Object> bounds = new ArrayList<>();
        if (low == high) bounds.addAll(List.of("=", low));
        else {
            if (low != OPEN_BELOW) bounds.addAll(List.of(">=", low));
            if (high != OPEN_ABOVE) bounds.addAll(List.of("<=", high));
        }
        return Map.of("numeric", bounds);
    }
}
