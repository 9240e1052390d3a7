/** Where the configuration is looked for when no other file is named. */
export const defaultConfigurationPath = 'evroute.config.json'
