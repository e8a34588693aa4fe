import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Takes and releases Redisson locks as it is told on standard input, and answers each order with one line.
 * Orders: try KEY, lock KEY WAIT_MS, unlock KEY, holds KEY. All run on one thread: locks belong to threads.
 */
public class Peer {
    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(args[0]).setConnectionPoolSize(4).setConnectionMinimumIdleSize(1);
        RedissonClient redisson = Redisson.create(config);
        System.out.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            System.out.println(answer(redisson, line.split(" ")));
            System.out.flush();
        }
        redisson.shutdown();
    }

    private static String answer(RedissonClient redisson, String[] words) {
        RLock lock = redisson.getLock(words[1]);
        try {
            switch (words[0]) {
                case "try":
                    return lock.tryLock() ? "held" : "busy";
                case "lock":
                    long begun = System.nanoTime();
                    boolean held = lock.tryLock(Long.parseLong(words[2]), TimeUnit.MILLISECONDS);
                    return (held ? "held " : "busy ") + (System.nanoTime() - begun) / 1_000_000;
                case "unlock":
                    lock.unlock();
                    return "unlocked";
                case "holds":
                    return "holds " + lock.getHoldCount();
                default:
                    return "unknown order " + words[0];
            }
        } catch (IllegalMonitorStateException error) {
            return "not held";
        } catch (Exception error) {
            return "error " + error;
        }
    }
}
