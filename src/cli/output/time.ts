/** The local time of day with milliseconds: `12:04:31.207`. */
export function formatTimeOfDay(instantMs: number): string {
  const date = new Date(instantMs)
  const two = (part: number): string => String(part).padStart(2, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
