import type { Request } from 'express';
import { bracketed } from '../addresses.js';

interface Addresses {
  caller: string;
  called: string;
}

/** Calls that a worker forwarded: their connections are those of the worker, and their addresses came with the call. */
const forwarded = new WeakMap<Request, Addresses>();

export function noteForwarded(request: Request, addresses: Addresses): void {
  forwarded.set(request, addresses);
}

/** The address that the call comes from; empty once its connection has ended. */
export const callerAddress = (request: Request): string =>
  forwarded.get(request)?.caller ?? request.socket.remoteAddress ?? '';

/** The address of this machine that was called. */
export const calledAddress = (request: Request): string =>
  forwarded.get(request)?.called ?? request.socket.localAddress ?? '';

/** That address as a host: without the form of IPv6 for an IPv4 address, and another one of IPv6 in brackets. */
export const calledHost = (request: Request): string =>
  bracketed(calledAddress(request).replace(/^::ffff:(?=\d+\.)/, ''));
