import { render, type JSX } from 'preact'
import { Dialog } from '../dialog.tsx'
import { ShownNotice } from '../notice.tsx'
import { AudienceMembers, Audiences } from './audiences.tsx'
import { Deletions } from './deletions.tsx'
import { Deliveries } from './deliveries.tsx'
import { Destinations } from './destinations.tsx'
import { LedgerView } from './ledger.tsx'
import { Overview } from './overview.tsx'
import { Replay } from './replay.tsx'
import type { Route } from './route.ts'
import { ServiceSession } from './service-session.ts'
import { SignIn } from './sign-in.tsx'
import { Sources } from './sources.tsx'
import { Story } from './story.tsx'

const session = new ServiceSession()

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

/** The navigation entry for each view that has none of its own. */
const parentOf: Readonly<Partial<Record<Route['view'], string>>> = {
  story: 'deliveries',
  audience: 'audiences',
}

function Page(): JSX.Element {
  const isSignedIn = session.api.isSignedIn.value
  const { view } = session.route.value
  return (
    <>
      <header>
        <div class="top">
          <h1>evroute service</h1>
          {isSignedIn ? (
            <>
              <nav aria-label="Views">
                {views.map(([name, label, path]) => (
                  <a key={name} href={path} aria-current={currentOf(name, view)} data-label={label}>
                    {label}
                  </a>
                ))}
              </nav>
              <button type="button" class="link push" onClick={() => void session.signOut()}>
                Sign out
              </button>
            </>
          ) : null}
        </div>
      </header>
      {isSignedIn ? (
        <main class="service">
          <View />
        </main>
      ) : (
        <SignIn session={session} />
      )}
      <ShownNotice notice={session.notice} />
      <ConfirmDialog />
    </>
  )
}

function currentOf(name: string, view: Route['view']): 'page' | 'true' | undefined {
  if (name === view) return 'page'
  return name === parentOf[view] ? 'true' : undefined
}

function View(): JSX.Element {
  const route = session.route.value
  switch (route.view) {
    case 'overview':
      return <Overview session={session} />
    case 'destinations':
      return <Destinations session={session} />
    case 'ledger':
      return <LedgerView session={session} />
    case 'sources':
      return <Sources session={session} />
    case 'audiences':
      return <Audiences session={session} />
    case 'audience':
      return <AudienceMembers key={route.id} session={session} audienceKey={route.id} />
    case 'deletions':
      return <Deletions session={session} />
    case 'replay':
      return <Replay session={session} />
    case 'deliveries':
      return <Deliveries session={session} conditions={route.conditions} />
    case 'story':
      return <Story key={route.id} session={session} id={route.id} />
  }
}

/** Asks a person to confirm an action. */
function ConfirmDialog(): JSX.Element | null {
  const { value: proposal } = session.proposal
  if (proposal === undefined) return null
  const { title, verb, consequence } = proposal
  const close = (): void => {
    session.proposal.value = undefined
  }
  return (
    <Dialog title={title} dialogs={{ close }}>
      <p>{consequence}</p>
      <div class="actions">
        <button type="button" class="primary" onClick={() => void session.confirm(proposal)}>
          {verb}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}

const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
session.follow()
