/** Thrown for a row that the engine can read and that evroute cannot have written. */
export class DamagedRowError extends Error {}
