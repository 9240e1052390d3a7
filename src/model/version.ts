/** The version of this package. package.json has the same. */
export const evrouteVersion = '0.1.0'
