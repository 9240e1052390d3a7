import { effect } from '@preact/signals'
import { render, type JSX } from 'preact'
import { Button } from '../button.tsx'
import { UncopiedDialog } from '../copy.tsx'
import { Dialog } from '../dialog.tsx'
import { focusFilter, onKeys } from '../keys.ts'
import { ShownNotice, tried } from '../notice.tsx'
import { isSignedIn, signOut } from './api.ts'
import { AudienceMembers, Audiences } from './audiences.tsx'
import { Deletions } from './deletions.tsx'
import { Deliveries } from './deliveries.tsx'
import { Destinations } from './destinations.tsx'
import { LedgerView } from './ledger.tsx'
import { Overview } from './overview.tsx'
import { Replay } from './replay.tsx'
import type { PlainView } from './route.ts'
import { session } from './service-session.ts'
import { SignIn } from './sign-in.tsx'
import { Sources } from './sources.tsx'
import { Story } from './story.tsx'

const views = [
  ['overview', 'Overview', '#/'],
  ['deliveries', 'Deliveries', '#/deliveries'],
  ['destinations', 'Destinations', '#/destinations'],
  ['sources', 'Sources', '#/sources'],
  ['ledger', 'Ledger', '#/ledger'],
  ['audiences', 'Audiences', '#/audiences'],
  ['deletions', 'Deletions', '#/deletions'],
  ['replay', 'Replay', '#/replay'],
] as const

function Page(): JSX.Element {
  return (
    <>
      <header>
        <div class="top">
          <h1>evroute service</h1>
          {isSignedIn.value ? (
            <>
              <nav class="tools" aria-label="Views">
                {views.map(([name, label, path]) => (
                  <a
                    key={name}
                    href={path}
                    aria-current={currentOf(name, path)}
                    ref={(link) => showCurrent(link)}
                  >
                    {label}
                  </a>
                ))}
              </nav>
              <Button label="Sign out" class="link push" onClick={() => void tried(signOut)} />
            </>
          ) : null}
        </div>
      </header>
      {isSignedIn.value ? (
        <main class="service" tabIndex={-1}>
          <View />
        </main>
      ) : (
        <SignIn />
      )}
      <ShownNotice />
      <ConfirmDialog />
      <UncopiedDialog />
    </>
  )
}

function currentOf(name: string, path: string): 'page' | 'true' | undefined {
  if (name === session.route.value.view) return 'page'
  return location.hash.startsWith(`${path}/`) ? 'true' : undefined
}

/** Scrolls the current link into view: on a telephone, the navigation is wider than the screen. */
function showCurrent(link: HTMLAnchorElement | null): void {
  if (link?.ariaCurrent != null) link.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

const plainViews: Readonly<Record<PlainView, () => JSX.Element>> = {
  overview: Overview,
  ledger: LedgerView,
  sources: Sources,
  audiences: Audiences,
  deletions: Deletions,
  replay: Replay,
}

function View(): JSX.Element {
  const { value: route } = session.route
  if (route.view === 'destinations') return <Destinations search={route.search} />
  if (route.view === 'deliveries') return <Deliveries {...route} />
  if (route.view === 'story') return <Story key={route.id} id={route.id} />
  if (route.view === 'audience') return <AudienceMembers key={route.id} id={route.id} />
  const Plain = plainViews[route.view]
  return <Plain />
}

function ConfirmDialog(): JSX.Element | null {
  const { value: proposal } = session.proposal
  if (proposal === undefined) return null
  const { title, verb, consequence } = proposal
  const close = (): void => {
    session.proposal.value = undefined
  }
  return (
    <Dialog title={title} close={close}>
      <p>{consequence}</p>
      <div class="actions">
        <Button label={verb} class="primary" onClick={() => void session.confirm(proposal)} />
        <Button label="Cancel" onClick={close} />
      </div>
    </Dialog>
  )
}

const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
session.follow()
onKeys({ '/': focusFilter })
effect(() => {
  const { value: route } = session.route
  const name = 'id' in route ? route.id : views.find(([view]) => view === route.view)?.[1]
  document.title = `${name} · evroute`
})
