/** Help for the keys of `listen`. */
export const keysHelp: string = `Keys
  o      open the page that shows every request
  enter  the last request in full
  r      send the last request to the target of --forward-to again
  p      pause the display, and go on
  f      the next webhook fails: 5 with status 503, t by timing out
  /      show only what matches: enter sets it, empty shows all, esc leaves it as it was
  s      save the last request to a file
  c      clear the screen; what was on it stays above
  q      quit; Ctrl-C does the same, and a second one ends at once`
