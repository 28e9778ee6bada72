import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** How a peer in Java measures itself, as in protocol.py. */
final class Measurement {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final int ROUNDS = 7;
    private static final double WARM_UP_SECONDS = 5.0, ROUND_SECONDS_MAX = 2.0, ROUND_SECONDS_MIN = 0.05;

    interface Build<E> {
        Match<E> build() throws Exception;
    }

    interface Match<E> {
        Collection<Integer> match(E event) throws Exception;
    }

    /** Reads the lines of the file `subscriptions` or `events`, as text. */
    static List<String> readLines(String folder, String name) throws Exception {
        return Files.readAllLines(Path.of(folder, name + ".jsonl"));
    }

    static List<JsonNode> read(String folder, String name) throws Exception {
        List<JsonNode> found = new ArrayList<>();
        for (String line : readLines(folder, name)) found.add(JSON.readTree(line));
        return found;
    }

    static <E> void measure(String peer, List<E> events, Build<E> build, List<Object[]> refused, String notes)
            throws Exception {
        long before = readHeapBytes(), begin = System.nanoTime();
        Match<E> peerMatch = build.build();
        double built = (System.nanoTime() - begin) / 1e9;
        long grown = readHeapBytes() - before;
        begin = System.nanoTime();
        List<List<Integer>> matches = new ArrayList<>();
        for (E event : events) matches.add(peerMatch.match(event).stream().sorted().collect(Collectors.toList()));
        double each = (System.nanoTime() - begin) / 1e9 / events.size();
        List<E> timedEvents = events.subList(0, Math.min(events.size(), Math.max(3, (int) (ROUND_SECONDS_MAX / each))));
        timeRound(peerMatch, timedEvents, WARM_UP_SECONDS - each * events.size());
        List<Double> micros = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) micros.add(timeRound(peerMatch, timedEvents, ROUND_SECONDS_MIN));
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("peer", peer);
        line.put("build_seconds", built);
        line.put("bytes", grown);
        line.put("micros", micros);
        line.put("matches", matches);
        line.put("refused", refused);
        line.put("notes", timedEvents.size() < events.size() ? notes + "; timed on " + timedEvents.size() + " events" : notes);
        System.out.println(JSON.writeValueAsString(line));
    }

    /** Returns the median of microseconds per event. Events are matched again until the round has taken `seconds`. */
    private static <E> double timeRound(Match<E> match, List<E> events, double seconds) throws Exception {
        List<Long> times = new ArrayList<>();
        long end = System.nanoTime() + (long) (seconds * 1e9);
        do {
            for (E event : events) {
                long begin = System.nanoTime();
                match.match(event);
                times.add(System.nanoTime() - begin);
            }
        } while (System.nanoTime() < end);
        long[] sorted = times.stream().mapToLong(Long::longValue).toArray();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2] / 1e3;
    }

    /** Returns the bytes of live objects. */
    private static long readHeapBytes() throws Exception {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
