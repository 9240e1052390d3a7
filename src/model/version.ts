/** The version of this package, as package.json has it. */
export const evrouteVersion = '0.1.0'
