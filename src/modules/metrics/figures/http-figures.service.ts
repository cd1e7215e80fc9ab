import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, NextFunction, Request, Response } from 'express';
import { Metrics } from '../../../platform/metrics/metrics.js';

/** Counts and times every call, also those that are refused before they come to a room. */
@Injectable()
export class HttpFigures {
  constructor({ httpAdapter }: HttpAdapterHost, metrics: Metrics) {
    const calls = metrics.counter('muster_http_requests_total', 'Calls that were answered', [
      'method',
      'route',
      'status',
    ]);
    const seconds = metrics.secondsOfCalls('muster_http_request_seconds', 'Time from a call to its answer', [
      'method',
      'route',
    ]);
    // Made while the application is built, so this comes before everything else that looks at calls.
    const express = httpAdapter.getInstance<Express>();
    express.use((request: Request, response: Response, next: NextFunction) => {
      const begin = performance.now();
      response.once('close', () => {
        const labels = { method: request.method, route: routeOf(request) };
        calls.inc({ ...labels, status: String(response.statusCode) });
        seconds.observe(labels, (performance.now() - begin) / 1000);
      });
      next();
    });
  }
}

/** The pattern of its path: with ids instead, the figures would never end. Files and unknown paths are "other". */
const routeOf = ({ route }: Request): string => (route as { path?: string } | undefined)?.path ?? 'other';
