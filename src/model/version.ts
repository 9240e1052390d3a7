/** The version of this package, the same as in package.json. */
export const evrouteVersion = '0.1.0'
