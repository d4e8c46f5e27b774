// PostGraphile as its documentation starts it from a program of one's own: the recommended preset, without the
// explorer page and without subscriptions.
//     node server.mjs DATABASE_URL PORT
import { createServer } from "node:http";
import { grafserv } from "postgraphile/grafserv/node";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

const [connectionString, port] = process.argv.slice(2);

const instance = postgraphile({
    extends: [PostGraphileAmberPreset],
    pgServices: [makePgService({ connectionString, schemas: ["public"] })],
    grafserv: { graphiql: false, websockets: false, watch: false },
    // What the documentation advises for production.
    grafast: { explain: false },
});
const server = createServer();
server.on("error", (error) => {
    console.error(error);
    process.exit(1);
});
await instance.createServ(grafserv).addTo(server);
server.listen(Number(port), "127.0.0.1");
