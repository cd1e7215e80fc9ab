export const kinds: Record<string, unknown>;
