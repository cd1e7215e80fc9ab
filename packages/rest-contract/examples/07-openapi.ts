// The OpenAPI 3.0 document of a contract.
import { z } from 'zod';
import { contract, describe, get, named, path, query } from 'rest-contract';
import { openapi } from 'rest-contract/openapi';

const User = named(describe(z.object({ id: z.string(), name: z.string() }), 'Someone with an account'), 'User');
const UserApi = contract('UserApi', {
  getUser: get(
    { id: path(z.string()), depth: query(z.int().min(0)).whenAbsent(1).describe('How deep to look') },
    User,
    {
      path: 'users',
      summary: 'Reads one user',
      responses: { 404: { description: 'No such user' } },
    },
  ),
});
const document = openapi(UserApi, { info: { title: 'Users', version: '1.0.0' } });
console.log(JSON.stringify(document.paths['/users/{id}']?.get?.parameters?.[1]));
console.log(JSON.stringify(document.paths['/users/{id}']?.get?.responses));
console.log(JSON.stringify(document.components?.schemas?.User));

// prints:
// {"name":"depth","in":"query","schema":{"type":"integer","minimum":0,"maximum":9007199254740991,"default":1},"description":"How deep to look"}
// {"200":{"description":"Success","content":{"application/json":{"schema":{"$ref":"#/components/schemas/User"}}}},"404":{"description":"No such user"}}
// {"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"required":["id","name"],"description":"Someone with an account"}
