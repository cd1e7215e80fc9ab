// Prefixes put path and parameters in front of another contract; the context of a connection fills arguments in.
import { z } from 'zod';
import { connect, contract, get, header, HttpErrorException, path, post, prefix, serve, unit } from 'rest-contract';

const AdminApi = contract('AdminApi', {
  ban: post({ id: path(z.string()) }, unit),
  banned: get({ tenant: z.string() }, z.array(z.string())),
});
const Api = contract('Api', {
  as: prefix({ token: header('Authorization', z.string()) }, AdminApi, { path: '' }),
});

const banned = new Set<string>();
const handle = serve(Api, {
  // Called before the body is read: the place to turn callers away.
  as: async ({ token }) => {
    if (token !== 'secret') throw new HttpErrorException(401, 'Who are you?');
    return {
      ban: async ({ id }) => void banned.add(id),
      banned: async ({ tenant }) => [...banned].map((id) => `${tenant}/${id}`),
    };
  },
});

const api = connect(Api, handle, { context: { tenant: 'acme' } });
const admin = api.as({ token: 'secret' });
await admin.ban({ id: 'u1' });
console.log(await admin.banned());
console.log(await api.as({ token: 'guess' }).banned().catch(String));

// prints:
// [ 'acme/u1' ]
// HttpErrorException: Who are you?
