/** The configuration file that commands read by default. */
export const defaultConfigurationPath = 'evroute.config.json'
