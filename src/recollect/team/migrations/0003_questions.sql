-- Questions: figures of the team that no filter takes apart, what became of decisions, groups of people.

ALTER TABLE recollect.member ADD COLUMN people_group text NOT NULL DEFAULT '';

-- The group that the asker belongs to now.
CREATE FUNCTION recollect.present_group() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce((SELECT p.people_group FROM recollect.member p WHERE p.team_id = recollect.present_team()
    AND p.member_id = recollect.present_member()), '') $$;

-- Both never change: somebody who goes to another group, or sends an old session, changes no figure of a past week.
ALTER TABLE recollect.session ADD COLUMN received_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE recollect.session ADD COLUMN people_group text NOT NULL DEFAULT '';
ALTER TABLE recollect.session ALTER COLUMN people_group SET DEFAULT recollect.present_group();
CREATE INDEX session_in_time ON recollect.session (team_id, coalesce(ended_at, started_at, 0) DESC);

-- Parts of cache_tokens, which stays their sum, and of output_tokens.
ALTER TABLE recollect.usage ADD COLUMN cache_write_5m_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE recollect.usage ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE recollect.usage ADD COLUMN reasoning_tokens bigint NOT NULL DEFAULT 0;

-- A relation of a decision of the session (newer) to another of the same memory.
CREATE TABLE recollect.decision_link (
    team_id uuid NOT NULL,
    session_id bigint NOT NULL,
    newer text NOT NULL,
    older text NOT NULL,
    member_id uuid NOT NULL,
    body jsonb NOT NULL,
    PRIMARY KEY (team_id, session_id, newer, older),
    FOREIGN KEY (team_id, session_id) REFERENCES recollect.session (team_id, session_id) ON DELETE CASCADE
);
CREATE INDEX decision_link_of_older ON recollect.decision_link (team_id, older);
ALTER TABLE recollect.decision_link ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON recollect.decision_link USING (
    team_id = recollect.present_team() AND member_id = recollect.present_member())
    WITH CHECK (
    team_id = recollect.present_team() AND member_id = recollect.present_member() AND EXISTS (
        SELECT FROM recollect.session s WHERE s.team_id = decision_link.team_id
        AND s.session_id = decision_link.session_id
        AND s.machine_id = recollect.present_machine() AND s.level IN ('distilled', 'full')));
CREATE POLICY shared ON recollect.decision_link FOR SELECT USING (
    team_id = recollect.present_team() AND recollect.present_role() IN ('member', 'lead', 'owner'));

-- What one response, or one session, used is a figure of one person.
ALTER POLICY shared ON recollect.event USING (
    team_id = recollect.present_team() AND recollect.present_role() IN ('member', 'lead', 'owner')
    AND kind <> 'token_usage');
UPDATE recollect.digest SET body = body - 'cost';

-- Figures of the team for leads and owners, of weeks in which at least four people stand behind each.
--
-- Every session falls into one cell, and into no other: by when it was first received, when it began, repository,
-- group, agent and model. A cell of fewer than four people is put together with others like it (of the same repository
-- and group, then of the same week, then of all that was received in that week) until there are four, and is withheld
-- where they never are. So nobody learns more from any questions than these cells, each of at least four people: a
-- filter chooses among them, and a sum adds them up. What was received in the present week is not counted yet, so a
-- figure does not move with a person's session either. NULL: of several.
CREATE FUNCTION recollect.week_of(us bigint) RETURNS date LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT CASE WHEN us BETWEEN 0 AND 253402300799000000
    THEN date_trunc('week', to_timestamp(us / 1e6) AT TIME ZONE 'UTC')::date ELSE '1970-01-01' END $$;

DROP FUNCTION recollect.team_figures();
CREATE FUNCTION recollect.team_figures()
    RETURNS TABLE (week date, repo text, people_group text, agent text, model text, input_tokens numeric,
        output_tokens numeric, cache_tokens numeric, cache_write_5m_tokens numeric, cache_write_1h_tokens numeric,
        reasoning_tokens numeric, responses numeric, cost_usd double precision, unpriced numeric)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
    WITH used AS (
        SELECT s.member_id AS who, date_trunc('week', s.received_at AT TIME ZONE 'UTC')::date AS seen,
            recollect.week_of(coalesce(s.started_at, (extract(epoch FROM s.received_at) * 1e6)::bigint)) AS began,
            s.repo AS of_repo, s.people_group AS of_group, s.agent AS of_agent, u.model AS of_model, u.*
        FROM recollect.session s
        JOIN recollect.usage u ON u.team_id = s.team_id AND u.session_id = s.session_id
        WHERE s.team_id = recollect.present_team() AND recollect.present_role() IN ('lead', 'owner')
            AND s.received_at < date_trunc('week', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
    ), alone AS (
        SELECT *, dense_rank() OVER (PARTITION BY seen, began, of_repo, of_group, of_agent, of_model ORDER BY who)
            + dense_rank() OVER (PARTITION BY seen, began, of_repo, of_group, of_agent, of_model ORDER BY who DESC)
            > 4 AS is_alone
        FROM used
    ), in_repo AS (
        SELECT *, NOT is_alone AND dense_rank() OVER (PARTITION BY is_alone, seen, began, of_repo, of_group ORDER BY who)
            + dense_rank() OVER (PARTITION BY is_alone, seen, began, of_repo, of_group ORDER BY who DESC)
            > 4 AS is_in_repo
        FROM alone
    ), in_week AS (
        SELECT *, NOT (is_alone OR is_in_repo)
            AND dense_rank() OVER (PARTITION BY is_alone OR is_in_repo, seen, began ORDER BY who)
            + dense_rank() OVER (PARTITION BY is_alone OR is_in_repo, seen, began ORDER BY who DESC)
            > 4 AS is_in_week
        FROM in_repo
    ), in_all AS (
        SELECT *, dense_rank() OVER (PARTITION BY is_alone OR is_in_repo OR is_in_week, seen ORDER BY who)
            + dense_rank() OVER (PARTITION BY is_alone OR is_in_repo OR is_in_week, seen ORDER BY who DESC)
            > 4 AS is_in_all
        FROM in_week
    )
    SELECT CASE WHEN is_alone OR is_in_repo OR is_in_week THEN began END,
            CASE WHEN is_alone OR is_in_repo THEN of_repo END, CASE WHEN is_alone OR is_in_repo THEN of_group END,
            CASE WHEN is_alone THEN of_agent END, CASE WHEN is_alone THEN of_model END,
            sum(a.input_tokens), sum(a.output_tokens), sum(a.cache_tokens), sum(a.cache_write_5m_tokens),
            sum(a.cache_write_1h_tokens), sum(a.reasoning_tokens), sum(a.responses), sum(a.cost_usd),
            sum(CASE WHEN a.cost_usd IS NULL THEN a.responses ELSE 0 END)
        FROM in_all a WHERE is_alone OR is_in_repo OR is_in_week OR is_in_all
        GROUP BY 1, 2, 3, 4, 5
$$;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.decision_link TO recollect_server;
GRANT EXECUTE ON FUNCTION recollect.present_group(), recollect.week_of(bigint), recollect.team_figures()
    TO recollect_server;
REVOKE EXECUTE ON FUNCTION recollect.present_group(), recollect.week_of(bigint), recollect.team_figures() FROM PUBLIC;
