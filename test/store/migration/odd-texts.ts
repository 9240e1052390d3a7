/** Texts that databases and parsers might mishandle: NUL, lone surrogates, separators. */
export const oddTexts: readonly string[] = [
  'nul \0 and mark \u001a0000',
  'half \ud83d and other half \udc00',
  'pair 😀, zalgo Z̐, \u2028, "quotes", \\back, {brace}, \t\n',
  '',
  'NULL',
  "'; DROP TABLE evroute_deliveries; --",
]
