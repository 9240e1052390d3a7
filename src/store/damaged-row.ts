/** A row that the engine can read but that evroute cannot have written. */
export class DamagedRowError extends Error {}
