import { expect, test } from 'vitest';
import type { HealthcheckOptions } from '../../../core/model/deploy.js';
import { healthcheckTarget } from './task-checker.service.js';

const task = { host: 'slave-7.example', ports: [31_001, 31_002] };
const around = { isLocal: false, furtherPorts: [8080] };
const plain = { host: 'slave-7.example', port: 31_001, uri: '/h', protocol: 'HTTP', method: 'GET' };

test.each<{ name: string; options: HealthcheckOptions; target: object }>([
  { name: 'the first port is asked, over HTTP, with GET', options: {}, target: plain },
  {
    name: 'portIndex chooses among the ports of the task',
    options: { portIndex: 1 },
    target: { ...plain, port: 31_002 },
  },
  {
    name: 'portNumber is one of the ports of the task',
    options: { portNumber: 31_002 },
    target: { ...plain, port: 31_002 },
  },
  { name: 'or one that the settings name', options: { portNumber: 8080 }, target: { ...plain, port: 8080 } },
  {
    name: 'no other port is asked',
    options: { portNumber: 7099 },
    target: { errorMessage: "Port 7099 is none of the task's, which has 31001, 31002" },
  },
  {
    name: 'portNumber wins over portIndex',
    options: { portNumber: 31_001, portIndex: 1 },
    target: plain,
  },
  {
    name: 'protocol and method are honoured',
    options: { protocol: 'HTTPS2', method: 'POST' },
    target: { ...plain, protocol: 'HTTPS2', method: 'POST' },
  },
  {
    name: 'without a uri the check fails',
    options: { uri: undefined },
    target: { errorMessage: 'The health check names no uri' },
  },
  {
    name: 'without such a port the check fails',
    options: { portIndex: 2 },
    target: { errorMessage: 'The task has no port 2' },
  },
  {
    name: 'a port below 1 is none',
    options: { portNumber: 0 },
    target: { errorMessage: "Port 0 is none of the task's, which has 31001, 31002" },
  },
])('$name', ({ options, target }) =>
  expect(healthcheckTarget(task, { uri: '/h', ...options }, around)).toEqual(target),
);

test('where everything runs on this machine it is asked here, whatever the slave is called', () =>
  expect(healthcheckTarget(task, { uri: '/h' }, { ...around, isLocal: true })).toEqual({
    ...plain,
    host: 'localhost',
  }));
