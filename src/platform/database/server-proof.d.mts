import type { Client } from 'pg';

export function demandProof(client: Client): void;
