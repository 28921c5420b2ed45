package spring;

import com.azure.messaging.servicebus.ServiceBusReceivedMessageContext;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.spring.cloud.service.servicebus.properties.ServiceBusEntityType;
import com.azure.spring.messaging.implementation.annotation.EnableAzureMessaging;
import com.azure.spring.messaging.servicebus.core.ServiceBusProducerFactory;
import com.azure.spring.messaging.servicebus.core.ServiceBusTemplate;
import com.azure.spring.messaging.servicebus.implementation.core.annotation.ServiceBusListener;
import com.azure.spring.messaging.servicebus.support.ServiceBusMessageHeaders;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.support.MessageBuilder;

/**
 * A small application with Spring Cloud Azure: listeners for a queue and for a subscription, and a template
 * that sends. The entities are there before it starts; SERVICEBUS is the connection string.
 */
@SpringBootApplication
@EnableAzureMessaging
public class Shop {
    private static final int ORDERS = 20;

    /** What is sent, as JSON. */
    public record Order(int number, String what) {}

    private final List<Order> orders = new CopyOnWriteArrayList<>();
    private final List<String> subjects = new CopyOnWriteArrayList<>();
    private final List<String> news = new CopyOnWriteArrayList<>();
    private final CountDownLatch all = new CountDownLatch(ORDERS + 2);

    @ServiceBusListener(destination = "spring-orders", concurrency = "4")
    void ordered(
        Order order,
        @Header(ServiceBusMessageHeaders.SUBJECT) String subject,
        @Header(ServiceBusMessageHeaders.RECEIVED_MESSAGE_CONTEXT) ServiceBusReceivedMessageContext context) {
        if (order.number() < 0) {
            context.deadLetter(new DeadLetterOptions().setDeadLetterReason("a negative number"));
            return;
        }
        orders.add(order);
        subjects.add(subject);
        all.countDown();
    }

    @ServiceBusListener(destination = "spring-news", group = "readers")
    void published(String text) {
        news.add(text);
        all.countDown();
    }

    public static void main(String[] args) throws Exception {
        try (var context = SpringApplication.run(Shop.class, args)) {
            Shop shop = context.getBean(Shop.class);
            var template = context.getBean(ServiceBusTemplate.class);
            for (int i = 0; i < ORDERS; i++) {
                template.send("spring-orders", MessageBuilder.withPayload(new Order(i, "ä book"))
                    .setHeader(ServiceBusMessageHeaders.SUBJECT, "order " + i).build());
            }
            template.send("spring-orders", MessageBuilder.withPayload(new Order(-1, "nothing"))
                .setHeader(ServiceBusMessageHeaders.SUBJECT, "order").build());
            var topics = new ServiceBusTemplate(context.getBean(ServiceBusProducerFactory.class));
            topics.setDefaultEntityType(ServiceBusEntityType.TOPIC);
            topics.send("spring-news", MessageBuilder.withPayload("one").build());
            topics.send("spring-news", MessageBuilder.withPayload("two").setHeader("color", "blue").build());
            shop.check();
        }
        System.exit(0); // the SDK's threads would keep it up
    }

    private void check() throws InterruptedException {
        if (!all.await(2, TimeUnit.MINUTES)) {
            throw new IllegalStateException("received " + orders + " and " + news);
        }
        var numbers = orders.stream().map(Order::number).sorted().toList();
        var named = orders.stream().allMatch(o -> o.what().equals("ä book"));
        long distinct = subjects.stream().distinct().count();
        var read = news.stream().sorted().toList();
        System.out.println("orders " + numbers + ", subjects " + distinct + ", news " + read);
        if (!numbers.equals(IntStream.range(0, ORDERS).boxed().toList()) || !named || distinct != ORDERS
            || !read.equals(List.of("one", "two"))) {
            throw new IllegalStateException("not what was sent");
        }
    }
}
