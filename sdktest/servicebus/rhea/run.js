// Transactions by rhea, under session windows that are unlimited: 4,294,967,295.
//
//     node run.js --amqp HOST:PORT --queue NAME --count N
//
// It sends 2N messages, receives them, and completes each in a transaction of its own, whose end it asks for without
// awaiting anything: every second transaction is rolled back, and its message is completed outside of one then. It prints a line for each transaction and ends with 0 when the server has settled all.
import rhea from "rhea";

const option = (name) => process.argv[process.argv.indexOf("--" + name) + 1];
const [host, port] = option("amqp").split(":");
const queue = option("queue"), count = Number(option("count"));
const { types, message } = rhea;
const unlimited = 4294967295;

// Messages whose values are described are encoded here, which rhea does not do.
const declare = Buffer.from([0, 0x53, 0x77, 0, 0x53, 0x31, 0x45]);
const discharge = (id, fail) => Buffer.from([0, 0x53, 0x77, 0, 0x53, 0x32, 0xc0, id.length + 4, 2, 0xa0, id.length, ...id,
  fail ? 0x41 : 0x42]);
const accepted = () => message.accepted().described();
const provisional = (id) => types.wrap_described([types.wrap_binary(id), accepted()], 0x34);

const container = rhea.create_container();
const connection = container.connect({ host, port, username: "RootManageSharedAccessKey", password: "SAS_KEY_VALUE",
  reconnect: false });
const session = connection.create_session();
// rhea grants 2,048 transfers: it is made to grant what .NET's client does, by its begin and by each flow.
session.incoming.deliveries.available = () => unlimited;
session.local.begin.incoming_window = unlimited;
session.begin();

const receiver = session.attach_receiver({ source: { address: queue }, credit_window: 0, autoaccept: false });
const sender = session.attach_sender({ target: { address: queue } });
const coordinator = session.attach_sender({ name: "coordinator", target: { address: "x" } });
coordinator.local.attach.target = types.wrap_described([types.wrap_array([types.wrap_symbol("amqp:local-transactions")],
  0xa3)], 0x30);

const fail = (why) => {
  console.error(why);
  process.exit(1);
};
for (const event of ["receiver_error", "sender_error", "session_error", "connection_error", "disconnected", "rejected"]) {
  container.on(event, (context) => fail(`${event}: ${context.error ?? context.receiver?.error ?? context.sender?.error ??
    JSON.stringify(context.delivery?.remote_state)}`));
}

let sent = 0, took = 0, declared = 0, ended = 0, settled = 0;
const waiting = []; // deliveries whose transactions are not declared yet
const undone = new Map(); // those of transactions that are rolled back, by the delivery of the discharge
sender.on("sendable", () => {
  while (sent < 2 * count && sender.sendable()) sender.send({ body: `m${sent++}` });
});
sender.on("accepted", () => {
  if (++took === 2 * count) receiver.add_credit(2 * count);
});
receiver.on("message", ({ delivery, message: { body } }) => {
  waiting.push([delivery, body]);
  coordinator.send(declare, undefined, 0);
});
// The state of a declaration is one that rhea passes on as it came.
coordinator.on("settled", ({ delivery }) => {
  const state = delivery.remote_state;
  const id = state?.descriptor?.value === 0x33 ? state.value[0].value : undefined;
  if (id === undefined) {
    ended++;
    undone.get(delivery)?.update(false, accepted());
    return;
  }
  const [message, body] = waiting.shift();
  const rollback = declared++ % 2 === 1;
  message.update(false, provisional(id));
  session.incoming.process(session); // else rhea puts two states that differ into one frame
  const end = coordinator.send(discharge(id, rollback), undefined, 0);
  if (rollback) undone.set(end, message);
  console.log(rollback ? "rollback" : "commit", body);
});
receiver.on("settled", ({ delivery }) => {
  if (delivery.remote_state?.error) fail(`a settlement is refused: ${delivery.remote_state.error.description}`);
  if (++settled === 2 * count) connection.close();
});
connection.on("connection_close", () => {
  console.log(`${settled} settled, ${ended} ended`);
  process.exit(settled === 2 * count ? 0 : 1);
});
