// A contract, its implementation, and a client of it: first in memory, then over HTTP.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import {
  type Args,
  connect,
  contract,
  get,
  HttpErrorException,
  path,
  post,
  query,
  serve,
  type Service,
} from 'rest-contract';
import { fetchBackend } from 'rest-contract/fetch';
import { nodeListener } from 'rest-contract/node';

const User = z.object({ id: z.string(), name: z.string(), birthYear: z.int() });

const UserApi = contract('UserApi', {
  createUser: post({ name: z.string(), birthYear: z.int() }, z.string()),
  getUser: get({ id: path(z.string()), loud: query(z.boolean()).optional(false) }, User),
});

class Users implements Service<typeof UserApi> {
  private readonly users = new Map<string, z.infer<typeof User>>();

  async createUser({ name, birthYear }: Args<typeof UserApi, 'createUser'>) {
    const id = `u${this.users.size + 1}`;
    this.users.set(id, { id, name, birthYear });
    return id;
  }

  async getUser({ id, loud }: Args<typeof UserApi, 'getUser'>) {
    const user = this.users.get(id);
    if (!user) throw new HttpErrorException(404, `No user with id '${id}'`);
    return loud ? { ...user, name: user.name.toUpperCase() } : user;
  }
}

const handle = serve(UserApi, new Users());

const near = connect(UserApi, handle);
console.log(await near.createUser({ name: 'Ada', birthYear: 1815 }));

const server = createServer(nodeListener(handle)).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const far = connect(UserApi, fetchBackend(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
console.log(await far.getUser({ id: 'u1', loud: true }));
console.log(await far.getUser({ id: 'u2' }).catch((error: HttpErrorException) => `${error.status}: ${error.message}`));
server.close();
server.closeAllConnections();

// prints:
// u1
// { id: 'u1', name: 'ADA', birthYear: 1815 }
// 404: No user with id 'u2'
