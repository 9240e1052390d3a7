import { effect } from '@preact/signals'
import { queryOf } from './http.ts'
import { tell } from './notice.tsx'
import { session } from './session.ts'

/** The state of the page in the fragment of the URL. It contains no token, so that links can be shared. */
interface Address {
  readonly filter: string
  readonly onlyFailed: boolean
  /** The run of the receiver and the number of the selected request, such as `mfx3k-12`; empty if none is selected. */
  readonly request: string
}

/** Restores the state of the page from the URL, opens the stream, and then keeps the URL up to date. */
export async function keepAddress(): Promise<void> {
  const { filter, onlyFailed, selected, capture, receiver } = session
  /** The address that the page is opening; undefined once its request is selected. */
  let going: Address | undefined
  const select = (): void => {
    const [run, seq] = (going?.request ?? '').split('-')
    if (seq === undefined) session.close()
    else if (run === receiver.value?.run) void session.select(Number(seq))
    else tell(`The link to request #${seq} is no longer valid: the receiver was restarted.`)
    going = undefined
  }
  const go = async (): Promise<void> => {
    const address = readAddress(location.hash)
    going = address
    onlyFailed.value = address.onlyFailed
    await session.setFilter(address.filter)
    if (going === address && receiver.value !== undefined) select()
  }
  window.addEventListener('popstate', () => void go())
  await go()
  if (filter.value === '') session.follow()
  effect(() => {
    const { value: known } = receiver
    if (known === undefined) return
    if (going !== undefined) select()
    const seq = capture.value === undefined ? selected.value : null
    write(
      {
        filter: filter.value,
        onlyFailed: onlyFailed.value,
        request: seq === null ? '' : `${known.run}-${seq}`,
      },
      session.isStep,
    )
  })
}

/**
 * Writes the fragment. A step to the next or previous request adds no entry to the browser's history. Neither does a
 * change from one filter to another.
 */
function write(address: Address, isStep: boolean): void {
  const before = readAddress(location.hash)
  const hash = hashOf(address)
  if (hash === hashOf(before)) return
  const isSame =
    isStep || (address.filter !== '' && before.filter !== '' && address.request === before.request)
  const url = hash === '' ? location.pathname : hash
  if (isSame) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
}

function readAddress(hash: string): Address {
  const given = new URLSearchParams(hash.slice(1))
  return {
    filter: given.get('filter') ?? '',
    onlyFailed: given.get('failures') === 'only',
    request: given.get('request') ?? '',
  }
}

function hashOf({ filter, onlyFailed, request }: Address): string {
  const parts = String(queryOf({ filter, failures: onlyFailed ? 'only' : '', request }))
  return parts === '' ? '' : `#${parts}`
}
