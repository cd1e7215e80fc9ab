// A contract inside an Express application and inside a Nest application, beside their own routes.
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import { z } from 'zod';
import { connect, contract, get, path, serve } from 'rest-contract';
import { expressHandler } from 'rest-contract/express';
import { fetchBackend } from 'rest-contract/fetch';
import { mountContract } from 'rest-contract/nest';

const Api = contract('Api', { greet: get({ name: path(z.string()) }, z.string()) });
const service = { greet: async ({ name }: { name: string }) => `Hello ${name}` };

const app = express();
app.get('/health', (_request, response) => void response.send('fine'));
app.use('/api', expressHandler(serve(Api, service)));
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
console.log(
  await connect(Api, fetchBackend(`${url}/api`)).greet({ name: 'Express' }),
  await (await fetch(`${url}/health`)).text(),
);
server.close();
server.closeAllConnections();

@Controller()
class Health {
  @Get('health')
  health() {
    return 'fine';
  }
}
@Module({ controllers: [Health] })
class App {}

const nest = await NestFactory.create(App, { logger: false });
mountContract(nest, Api, service, { path: 'api' }); // before listen: requests come here before Nest's body parsers
await nest.listen(0, '127.0.0.1');
const nestUrl = await nest.getUrl();
console.log(
  await connect(Api, fetchBackend(`${nestUrl}/api`)).greet({ name: 'Nest' }),
  await (await fetch(`${nestUrl}/health`)).text(),
);
await nest.close();

// prints:
// Hello Express fine
// Hello Nest fine
